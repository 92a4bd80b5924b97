export { type AskCodec, askCodec, askFirst } from './ask.js'
export { admit, answerFor, type JobCall, serveCall } from './call.js'
export { invalidParams, tasksRequired, toProtocolError } from './errors.js'
export { registerHandleTools } from './handle-tools.js'
export { shapeListing } from './list.js'
export {
  acknowledge,
  endOf,
  idsOf,
  isAcknowledgement,
  isEnd,
  type TaskListen,
  taskListen,
  taskNotification,
} from './listen.js'
export { clientFacts, TASKS_EXTENSION } from './request.js'
export { anyParams, taskMethods } from './tasks.js'
export { notifyStatus2025, taskCapabilities2025 } from './tasks-2025.js'
