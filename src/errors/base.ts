/** Every code that a {@link JobToolsError} can carry. Stable: programs may branch on them. */
export type ErrorCode =
  | 'definition'
  | 'input'
  | 'owner'
  | 'upstream'
  | 'unsupported'
  | 'store'
  | 'record'
  | 'unknown_task'
  | 'answer'

// A registered symbol, so that `isInstance` also holds between two copies of this package.
const MARKER = Symbol.for('mcp-job-tools.error')

/**
 * The base of every error this library throws on purpose. Its message says what happened, to which job or setting, and
 * what the reader can do; it never holds a credential.
 */
export class JobToolsError extends Error {
  readonly code: ErrorCode
  readonly [MARKER] = true

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }

  /** True for an error of this family, whichever copy of the package made it. */
  static isInstance(value: unknown): value is JobToolsError {
    return typeof value === 'object' && value !== null && MARKER in value
  }
}
