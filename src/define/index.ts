export {
  type Answer,
  type CallerAuth,
  CHECK,
  type Checked,
  type ContentBlock,
  type CreateContext,
  type FormField,
  type FormSchema,
  type JobAdapter,
  type JobContext,
  type JobResult,
  type OperationContext,
  type Phase,
  type Question,
  type ReadContext,
  type Reading,
  type RefShape,
  type ToolFacts,
} from './adapter.js'
export {
  checkPolicy,
  DEFAULT_POLICY,
  LONGEST_TIMER_MS,
  type Policy,
  type PolicyOptions,
  resolvePolicy,
  type Timeouts,
  type WithoutTasks,
} from './policy.js'
export { jsonSchemaOf, type Parsed, type StandardSchema, validate } from './schema.js'
export {
  type Answers,
  type AnyJobAdapter,
  defineJobTool,
  type JobTool,
  type JobToolDefinition,
  type ToolAnnotations,
} from './tool.js'
