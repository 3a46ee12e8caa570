import { sleep } from '../processes/wait.mjs';
import { startAgain } from '../stores/discover.mjs';

const DELAYS_MS = [200, 1_000, 5_000, 15_000];
const CALM_AFTER_MS = 60_000;

/**
 * Starts private stores again that ended by themselves, ever more slowly, and says so. The services find their way back
 * to a store that returns at its old address; without it none of them can answer.
 */
export class StoreRevival {
  #context = null;
  #startArgs = {};
  #ports = {};
  #reviving = new Set();
  /** @type {Map<string, { count: number, at: number }>}  how often a store has ended lately */
  #ends = new Map();

  /** @param {{ say: (line: string) => void, changed: () => void }} options  `changed` is called when one runs again */
  constructor({ say, changed }) {
    Object.assign(this, { say, changed });
  }

  /** From now on; before that a store that ends fails the start. */
  watch(context, startArgs) {
    this.#context = context;
    this.#startArgs = startArgs;
    this.#ports = { ...context.ports };
  }

  /** @param {string} name  of the process: `store:redis` */
  noticeEnd(name, how) {
    const [, kind] = /^store:(.*)$/.exec(name) ?? [];
    if (!kind || !this.#context || this.#reviving.has(kind)) return;
    this.#reviving.add(kind);
    this.say(`${kind} ended unexpectedly (${how}); starting it again`);
    void this.#revive(kind).finally(() => this.#reviving.delete(kind));
  }

  async #revive(kind) {
    for (;;) {
      await sleep(this.#delay(kind));
      if (this.#context.keeper.isReleased) return;
      try {
        await startAgain(kind, this.#ports[kind], { context: this.#context, startArgs: this.#startArgs[kind] });
        this.say(`${kind} runs again`);
        return this.changed();
      } catch (error) {
        if (this.#context.keeper.isReleased) return;
        this.say(`${kind} does not start again: ${error.message}`);
      }
    }
  }

  #delay(kind) {
    const { count, at } = this.#ends.get(kind) ?? { count: 0, at: 0 };
    const recent = Date.now() - at > CALM_AFTER_MS ? 0 : count;
    this.#ends.set(kind, { count: recent + 1, at: Date.now() });
    return DELAYS_MS[Math.min(recent, DELAYS_MS.length - 1)];
  }
}
