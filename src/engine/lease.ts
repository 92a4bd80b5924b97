import type { LeaseName } from '../store/records.js'
import type { Engine } from './engine.js'

/** After a crash, others wait at most this long; while its holder lives, the lease is renewed. */
const LEASE_MS = 3_000

/** The right of one replica to do one thing to one task at a time. */
export class Lease {
  private readonly timer: NodeJS.Timeout

  private constructor(
    private readonly engine: Engine,
    private readonly id: string,
    private readonly what: LeaseName,
  ) {
    this.timer = setInterval(() => {
      this.engine.deps.records.keepLease(id, what, LEASE_MS).catch((error) => engine.storeFault(error))
    }, LEASE_MS / 3).unref()
  }

  /** @returns undefined while another holds it. @throws StoreError. */
  static async take(engine: Engine, id: string, what: LeaseName): Promise<Lease | undefined> {
    return (await engine.deps.records.takeLease(id, what, LEASE_MS)) ? new Lease(engine, id, what) : undefined
  }

  /** Gives it back. Never throws: it runs out by itself. */
  async release(): Promise<void> {
    clearInterval(this.timer)
    await this.engine.deps.records.dropLease(this.id, this.what).catch((error) => this.engine.storeFault(error))
  }
}
