import { JobToolsError } from './base.js'

/** No task of this id exists for this caller. Foreign, unknown and malformed ids are not told apart. */
export class UnknownTaskError extends JobToolsError {
  constructor() {
    super('unknown_task', 'Task not found')
  }
}

/** The caller cannot be named, so no task can be bound to it. */
export class OwnerError extends JobToolsError {
  constructor() {
    super(
      'owner',
      'This request is authenticated, but its credentials name no subject, so a task cannot be bound to its caller. ' +
        'Give createJobTools an `owner` function that returns a stable id, such as (ctx) => ctx.authInfo?.clientId.',
    )
  }
}

/** The upstream has no such operation (a cancel, a reject). The job goes on. */
export class UnsupportedError extends JobToolsError {
  constructor(problem: string) {
    super('unsupported', problem)
  }
}

/** An answer to a question could not be taken; the question stays open. */
export class AnswerError extends JobToolsError {
  /** True when the answer itself is wrong (`-32602`), false when it could not be delivered (`-32603`). */
  readonly invalid: boolean

  constructor(problem: string, invalid: boolean, options?: ErrorOptions) {
    super('answer', problem, options)
    this.invalid = invalid
  }
}
