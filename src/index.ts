export {
  type Answer,
  type CallerAuth,
  type ContentBlock,
  type CreateContext,
  defineJobTool,
  type FormField,
  type FormSchema,
  type JobAdapter,
  type JobContext,
  type JobResult,
  type JobTool,
  type JobToolDefinition,
  type OperationContext,
  type Phase,
  type PolicyOptions,
  type Question,
  type ReadContext,
  type Reading,
  type StandardSchema,
  type Timeouts,
  type ToolAnnotations,
  type WithoutTasks,
} from './define/index.js'
export type { JobEvent, SweepReport } from './engine/index.js'
export {
  AnswerError,
  DefinitionError,
  type ErrorCode,
  InputError,
  JobToolsError,
  OwnerError,
  RecordError,
  StoreError,
  UnknownTaskError,
  UnsupportedError,
  UpstreamError,
  type UpstreamFault,
} from './errors/index.js'
export type { ServerInfo } from './server/handler.js'
export { createJobTools, type JobTools, type JobToolsOptions } from './server/job-tools.js'
export type { OwnerContext, OwnerOption } from './server/owner.js'
