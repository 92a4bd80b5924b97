export {
  type Answering,
  type FaultyUpstream,
  type FaultyUpstreamOptions,
  faultyUpstream,
  type Operation,
  type Script,
  type SeenRequest,
  type UpstreamJob,
} from './faulty-upstream.js'
export type { JsonAnswer, ScriptedAnswer } from './scripted-answer.js'
export {
  type OpenedStore,
  type StoreCheck,
  type StoreClock,
  type StoreSuiteOptions,
  storeSuite,
} from './store-suite.js'
