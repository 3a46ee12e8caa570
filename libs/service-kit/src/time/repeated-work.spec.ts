import { setTimeout as sleep } from 'node:timers/promises';
import { RepeatedWork } from './repeated-work.js';

class Turns extends RepeatedWork {
  protected readonly what = 'The work of the spec';
  protected readonly everyMs = 1;
  turns = 0;
  atOnce = 0;
  most = 0;
  failing = false;

  async run(): Promise<void> {
    this.turns += 1;
    this.most = Math.max(this.most, ++this.atOnce);
    await sleep(5);
    this.atOnce -= 1;
    if (this.failing) throw new Error('database is down');
  }
}

describe('repeated work', () => {
  let warnings: string[];
  let work: Turns;
  beforeEach(() => {
    warnings = [];
    work = new Turns({ warn: (_: unknown, text?: string) => void warnings.push(text ?? '') });
    work.onApplicationBootstrap();
  });

  const until = async (reached: () => boolean) => {
    while (!reached()) await sleep(1);
  };

  it('takes turn after turn, never two at once', async () => {
    await until(() => work.turns >= 3);
    await work.onModuleDestroy();
    expect(work.most).toBe(1);
  });

  it('goes on after a failure, which it logs', async () => {
    work.failing = true;
    await until(() => warnings.length >= 2);
    await work.onModuleDestroy();
    expect(warnings[0]).toBe('The work of the spec failed; tried again later');
  });

  it('is finished once the service has stopped, and not begun again', async () => {
    await until(() => work.atOnce === 1);
    await work.onModuleDestroy();
    expect(work.atOnce).toBe(0);
    const { turns } = work;
    await sleep(10);
    expect(work.turns).toBe(turns);
  });
});
