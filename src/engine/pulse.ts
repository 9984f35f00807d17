/** Another process, asked at intervals whether it is still there. */
export interface Patient {
  ask(): void;
  /** It has not answered for too long. Called once. */
  onSilence(): void;
}

const ASK_MS = 1000;

/**
 * Notices a process that has stopped without ending. Questions are counted and not the time: when
 * this process was stopped itself, or its whole machine, the other one is not to blame.
 */
export class Pulse {
  readonly #patient: Patient;
  readonly #askMs: number;
  readonly #maxUnanswered: number;
  #unanswered = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number, patient: Patient) {
    this.#patient = patient;
    this.#askMs = Math.min(ASK_MS, timeoutMs / 4);
    this.#maxUnanswered = Math.ceil(timeoutMs / this.#askMs);
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#check();
    }, this.#askMs).unref();
  }

  /** It has said something, whatever it was. */
  heard(): void {
    this.#unanswered = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    if (this.#unanswered >= this.#maxUnanswered) {
      this.stop();
      this.#patient.onSilence();
    } else {
      this.#unanswered++;
      this.#patient.ask();
    }
  }
}
