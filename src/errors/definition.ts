import { JobToolsError } from './base.js'

/** A tool, adapter or policy is written wrongly. Thrown when it is defined, never while a call is served. */
export class DefinitionError extends JobToolsError {
  /** The tool the mistake is in, where it is known. */
  readonly tool: string | undefined
  /** The member that holds the mistake, such as `job.get.path`. */
  readonly field: string

  constructor(details: { tool?: string | undefined; field: string; problem: string; remedy: string }) {
    const where = details.tool === undefined ? details.field : `tool "${details.tool}", ${details.field}`
    super('definition', `${where}: ${details.problem}. ${details.remedy}`)
    this.tool = details.tool
    this.field = details.field
  }
}
