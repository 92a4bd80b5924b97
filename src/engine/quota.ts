/** Counts what each owner holds at a time. */
export class Quota {
  private readonly held = new Map<string, number>()

  /** @returns gives it back (once); undefined when the owner holds `most` already. */
  take(owner: string, most: number): (() => void) | undefined {
    const count = this.held.get(owner) ?? 0
    if (count >= most) return undefined
    this.held.set(owner, count + 1)
    let given = false
    return () => {
      if (given) return
      given = true
      const left = (this.held.get(owner) ?? 1) - 1
      if (left > 0) this.held.set(owner, left)
      else this.held.delete(owner)
    }
  }
}
