/** A queue that stays fast when it is long: nothing moves when the first one leaves. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** @param index from the front */
  at(index: number): T | undefined {
    return this.#items[this.#head + index];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head++];
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Up to `count` from the front. */
  take(count: number): T[] {
    const taken: T[] = [];
    while (taken.length < count && this.length > 0) taken.push(this.shift() as T);
    return taken;
  }

  keep(isWanted: (item: T) => boolean): void {
    this.#items = this.#items.slice(this.#head).filter(isWanted);
    this.#head = 0;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let index = 0; index < this.length; index++) yield this.at(index) as T;
  }
}
