/**
 * The part of the Standard Schema and Standard JSON Schema interfaces that tools use (standardschema.dev). Zod 4, Valibot
 * and ArkType schemas fit; so does the SDK's `fromJsonSchema`.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => ValidationResult<Output> | Promise<ValidationResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    readonly jsonSchema?:
      | {
          readonly input: (options: { target: string }) => Record<string, unknown>
          readonly output: (options: { target: string }) => Record<string, unknown>
        }
      | undefined
  }
}

type ValidationResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly ValidationIssue[] }

interface ValidationIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What a schema accepts once parsed. */
export type Parsed<Schema> = Schema extends StandardSchema<infer _Input, infer Output> ? Output : never

/** The input's JSON Schema, or undefined where the schema library cannot give one. */
export function jsonSchemaOf(schema: StandardSchema): Record<string, unknown> | undefined {
  try {
    return schema['~standard'].jsonSchema?.input({ target: 'draft-2020-12' })
  } catch {
    return undefined
  }
}

/**
 * Validates a value.
 * @returns the parsed value, or the issues as one line of text.
 */
export async function validate<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
): Promise<{ value: Output } | { problem: string }> {
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return { value: result.value }
  const lines = result.issues.map((issue) => {
    const path = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return path ? `${path}: ${issue.message}` : issue.message
  })
  return { problem: lines.join('; ') }
}
