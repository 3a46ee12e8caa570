import type { FleetHandle } from '@rmm/testing';
import { type FuzzRequest, FuzzRequests } from './fuzz-requests.js';
import { type FuzzCaller, FuzzTenant } from './fuzz-tenant.js';
import type { ApiDocument, Operation } from './operations.js';
import { Random } from './random.js';
import { RawClient, type RawResponse } from './raw-client.js';
import { problemsOf } from './response-problems.js';
import { ValidValues } from './valid-values.js';

export interface FuzzOptions {
  seed: string;
  seconds: number;
  /** Substring of the operation ids to try; all when empty. */
  only: string;
}

/** A problem of an operation with the first request that showed it. */
export interface Finding {
  operation: string;
  problem: string;
  count: number;
  example: string;
}

const CASES_PER_ROUND = 8;
/** Rounds of a run however slow the machine is: later rounds use the records that earlier ones created. */
const MIN_ROUNDS = 3;
const PARALLEL = 4;
const SLOW_MS = 2_000;
/** Requests that can end the session or the rights of their caller; each makes a new tenant necessary. */
const ENDS_SESSION = /logout|change-password|auth\/switch|mfa\/disable|partners\/(me|\{id\})|auth\/sessions/;
const ROUNDS_BETWEEN = 4;

/** Sends mutated requests to every operation, round by round, until the time is over. */
export class FuzzRun {
  readonly findings = new Map<string, Finding>();
  /** Number of responses by operation and status. */
  readonly statuses = new Map<string, Map<number, number>>();
  readonly slow: string[] = [];
  requests = 0;
  tenants = 0;
  rounds = 0;
  private readonly client: RawClient;
  private tenant!: FuzzTenant;
  private replacement?: Promise<void>;

  constructor(
    private readonly fleet: FleetHandle,
    private readonly document: ApiDocument,
    private readonly options: FuzzOptions,
  ) {
    this.client = new RawClient(fleet.baseUrl);
  }

  async run(): Promise<void> {
    await this.replaceTenant();
    const end = performance.now() + this.options.seconds * 1_000;
    const operations = this.document.operations.filter(({ operationId }) => operationId.includes(this.options.only));
    do {
      const queue = operations.filter(({ path }) => this.rounds % ROUNDS_BETWEEN === 0 || !ENDS_SESSION.test(path));
      const work = async () => {
        for (let next = queue.shift(); next; next = queue.shift()) {
          if (this.rounds >= MIN_ROUNDS && performance.now() > end) return;
          await this.tryOperation(next);
        }
      };
      await Promise.all(Array.from({ length: PARALLEL }, work));
      this.rounds++;
    } while (this.rounds < MIN_ROUNDS || performance.now() < end);
    this.client.close();
  }

  private async tryOperation(operation: Operation): Promise<void> {
    const random = new Random(this.options.seed, operation.method, operation.path, this.rounds);
    let isRefused = false;
    for (let count = 0; count < CASES_PER_ROUND; count++) {
      const { tenant } = this;
      const values = new ValidValues(this.document.schemas, () => tenant.knownIds);
      const requests = new FuzzRequests(values, (each) => tenant.pathIds(each));
      const caller = tenant.callerFor(operation, random);
      // the first request of each round is valid
      const request = count === 0 ? requests.createValid(operation, random) : requests.create(operation, random);
      const address = `10.${random.integer(1, 254)}.${random.integer(1, 254)}.${random.integer(1, 254)}`;
      const response = await this.send(request, caller, operation, address);
      if (response?.status === 201) tenant.remember(operation, parse(response.text));
      isRefused ||= response !== null && isRefusedUser(caller, response);
    }
    if (isRefused || ENDS_SESSION.test(operation.path)) await this.checkTenant();
  }

  private async send(
    request: FuzzRequest,
    caller: FuzzCaller,
    operation: Operation,
    address: string,
  ): Promise<RawResponse | null> {
    this.requests++;
    const sent = { ...request, headers: { 'x-forwarded-for': address, ...request.headers } };
    try {
      const response = await this.client.send(sent, caller.headers);
      this.count(operation, response.status);
      if (response.milliseconds > SLOW_MS)
        this.slow.push(`${Math.round(response.milliseconds)} ms ${describe(request, caller)}`);
      for (const problem of problemsOf(request, response, operation, this.document)) {
        this.report(
          operation,
          problem,
          `${describe(request, caller)}\n      ${response.status} ${response.text.slice(0, 300)}`,
        );
      }
      return response;
    } catch (error) {
      this.report(operation, `no response: ${String(error)}`, describe(request, caller));
      return null;
    }
  }

  private report({ method, path }: Operation, problem: string, example: string): void {
    const operation = `${method} ${path}`;
    const known = this.findings.get(`${operation} ${problem}`);
    if (known) known.count++;
    else this.findings.set(`${operation} ${problem}`, { operation, problem, count: 1, example });
  }

  private count({ method, path }: Operation, status: number): void {
    const counts = this.statuses.get(`${method} ${path}`) ?? new Map<number, number>();
    counts.set(status, (counts.get(status) ?? 0) + 1);
    this.statuses.set(`${method} ${path}`, counts);
  }

  private async checkTenant(): Promise<void> {
    if (this.replacement) return this.replacement;
    if (await this.tenant.isUsable(this.client)) return;
    this.replacement ??= this.replaceTenant();
    await this.replacement;
  }

  private async replaceTenant(): Promise<void> {
    this.tenants++;
    this.tenant = await FuzzTenant.create(this.fleet).catch(() => FuzzTenant.create(this.fleet));
    this.replacement = undefined;
  }
}

/** Returns true for a response that a usable caller would not get: its session ended, or its tenant is not active. */
function isRefusedUser({ name }: FuzzCaller, { status, text }: RawResponse): boolean {
  if (!['partner', 'organization', 'system'].includes(name)) return false;
  if (status === 401 || status === 428) return true;
  return /"code":"(?:tenant_inactive|partner_inactive|ip_not_allowed)"/.test(text);
}

function describe({ method, target, headers, body = '', mutation }: FuzzRequest, caller: FuzzCaller): string {
  const shown = body.length > 400 ? `${body.slice(0, 400)}... (${body.length} characters)` : body;
  const where = `${method} ${target.slice(0, 300)} as ${caller.name} [${mutation}]`;
  return `${where} ${JSON.stringify(headers).slice(0, 300)} ${JSON.stringify(shown)}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
