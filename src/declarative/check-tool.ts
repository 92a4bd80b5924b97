import type { ToolFacts } from '../define/index.js'
import { DefinitionError } from '../errors/index.js'
import type { CheckedDefinition } from './check.js'
import { written } from './check-parts.js'
import { filledParts } from './request.js'
import { isPlain, type Placeholder, placeholdersIn } from './template.js'
import type { HttpJobDefinition } from './types.js'

/* Checks of a definition against the tool it is used in. */

const SCALARS: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'null']

/** Whether a schema certainly has no such member. Anything it does not spell out may exist. */
function certainlyAbsent(schema: unknown, members: readonly string[]): boolean {
  const [member, ...rest] = members
  if (member === undefined || !isPlain(schema)) return false
  const { type, properties, additionalProperties, anyOf, oneOf } = schema
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices)) return choices.every((choice) => certainlyAbsent(choice, members))
  if (SCALARS.includes(type)) return true
  const isOpen = ['$ref', 'allOf', 'if', 'patternProperties', 'dependentSchemas'].some((name) => name in schema)
  if (isOpen || (type !== undefined && type !== 'object') || !isPlain(properties)) return false
  if (Object.hasOwn(properties, member)) return certainlyAbsent(properties[member], rest)
  // A schema without the word is open by the letter, but its members are all that a model is told of.
  return additionalProperties === undefined || additionalProperties === false
}

/**
 * Checks a definition against the tool it is used in.
 * @throws DefinitionError for a placeholder or a variable that the tool's input certainly has not, or `{ask.*}` without `ask`.
 */
export function checkTool(definition: HttpJobDefinition, checked: CheckedDefinition, facts: ToolFacts): void {
  const { tool, inputSchema, asks } = facts
  const checkInput = (field: string, members: readonly string[], text: string) => {
    if (!certainlyAbsent(inputSchema, members)) return
    const known = isPlain(inputSchema?.properties) ? Object.keys(inputSchema.properties).join(', ') : ''
    throw new DefinitionError({
      tool,
      field: `job.${field}`,
      problem: `holds ${text}, which the input does not have`,
      remedy: `The input has ${known || 'no members'}.`,
    })
  }
  const checkPlaceholder = (field: string, placeholder: Placeholder) => {
    const [root, ...members] = placeholder
    if (root === 'input') checkInput(field, members, written(placeholder))
    if (root === 'ask' && !asks)
      throw new DefinitionError({
        tool,
        field: `job.${field}`,
        problem: `holds ${written(placeholder)}, and the tool asks nothing`,
        remedy: 'Give the tool an `ask` function, or take the placeholder out.',
      })
  }
  for (const placeholder of placeholdersIn(definition.headers)) checkPlaceholder('headers', placeholder)
  for (const { field, request } of checked.requests)
    for (const placeholder of placeholdersIn(filledParts(request))) checkPlaceholder(field, placeholder)
  for (const { field, inspected } of checked.expressions)
    for (const members of inspected.input) checkInput(field, members, `$input.${members.join('.')}`)
}
