import { JobToolsError } from './base.js'

/** The store could not be read or written, or did not answer in time. The caller sees `-32603`, never "not found". */
export class StoreError extends JobToolsError {
  constructor(problem: string, options?: ErrorOptions) {
    super('store', `task store: ${problem}`, options)
  }
}

/** One stored entry cannot be used: it is corrupt, or a newer version of the library wrote it. Only that task suffers. */
export class RecordError extends JobToolsError {
  constructor(key: string, problem: string, options?: ErrorOptions) {
    super('record', `stored entry ${key}: ${problem}`, options)
  }
}
