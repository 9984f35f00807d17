/** First in, first out, for takers that wait. */
export class Backlog<T> {
  #items: T[] = [];
  #head = 0;
  #waiting: ((item: T | undefined) => void)[] = [];
  #isClosed = false;

  push(item: T): void {
    const taker = this.#waiting.shift();
    if (taker === undefined) this.#items.push(item);
    else taker(item);
  }

  /** `undefined` once it is closed and empty. */
  take(): Promise<T | undefined> {
    if (this.#head < this.#items.length) return Promise.resolve(this.#next());
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const taker of this.#waiting.splice(0)) taker(undefined);
  }

  /** Shifting a long array moves all of it, so that is done rarely. */
  #next(): T | undefined {
    const item = this.#items[this.#head++];
    if (this.#head > 1000 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
