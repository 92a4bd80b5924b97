/** The tool that the Express, Hono and stdio examples serve: the demo's job server, described as data. */
import { surveyTool } from '../demo/tool.js'

const { JOBS_URL = 'http://127.0.0.1:4000', JOBS_TOKEN = 'demo-token' } = process.env

export const survey = surveyTool(JOBS_URL, JOBS_TOKEN)
