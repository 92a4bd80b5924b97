/** Work under way in this process, by task: whoever comes later joins it, and shares its outcome or its error. */
export class Flights<T> {
  private readonly running = new Map<string, Promise<T>>()

  get(id: string): Promise<T> | undefined {
    return this.running.get(id)
  }

  /**
   * Joins what runs for `id`, or starts it.
   * @param start gives the answer, and what must be finished before the next one may start.
   */
  join(id: string, start: () => Promise<{ value: T; rest?: Promise<unknown> | undefined }>): Promise<T> {
    const running = this.running.get(id)
    if (running) return running
    const work = start()
    const value = work.then((done) => done.value)
    this.running.set(id, value)
    const clear = () => {
      if (this.running.get(id) === value) this.running.delete(id)
    }
    work.then((done) => done.rest).then(clear, clear)
    return value
  }
}
