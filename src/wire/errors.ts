import { MissingRequiredClientCapabilityError, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { JobToolsError } from '../errors/index.js'
import { TASKS_EXTENSION } from './request.js'

/** `-32021`: the request must declare the tasks extension. */
export function tasksRequired(what: string): ProtocolError {
  return new MissingRequiredClientCapabilityError(
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
    `${what} requires the client capability ${TASKS_EXTENSION}, declared on the request`,
  )
}

/** `-32602` with a message for the caller. */
export function invalidParams(message: string, data?: unknown): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data)
}

/** `-32601`, in the words the SDK uses for a method it does not know. */
export function methodNotFound(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found')
}

/**
 * The JSON-RPC error for anything the engine throws. `-32602` for what the caller can mend, `-32603` for the rest; unknown,
 * foreign and malformed task ids all give the same bytes.
 */
export function toProtocolError(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error
  if (!JobToolsError.isInstance(error)) return new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error')
  const callers =
    error.code === 'unknown_task' || error.code === 'input' || (error.code === 'answer' && member(error, 'invalid'))
  return callers ? invalidParams(error.message) : new ProtocolError(ProtocolErrorCode.InternalError, error.message)
}

function member(error: JobToolsError, name: string): boolean {
  return (error as unknown as Record<string, unknown>)[name] === true
}
