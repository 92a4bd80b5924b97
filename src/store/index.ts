export { canList, openBackend } from './open.js'
export { type PendingRecord, Records, type StoredRef, type StoredResult, type StoredTask } from './records.js'
export {
  BACKEND,
  type Backend,
  type KeyValue,
  type KeyvAdapterLike,
  type KeyvLike,
  type OwnStore,
  type StoreInput,
} from './types.js'
