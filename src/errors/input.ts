import { JobToolsError } from './base.js'

/** A value that a model or a person chose cannot be used. Nothing was sent. */
export class InputError extends JobToolsError {
  /** The placeholder or argument that holds the value. */
  readonly field: string

  constructor(field: string, problem: string) {
    super('input', `${field}: ${problem}`)
    this.field = field
  }
}
