export {
  type Answering,
  type FaultyUpstream,
  faultyUpstream,
  type ScriptedAnswer,
  type SeenRequest,
  type UpstreamJob,
} from './faulty-upstream.js'
