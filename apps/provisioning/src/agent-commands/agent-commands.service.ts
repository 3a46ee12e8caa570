import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { AgentCaller } from '@rmm/access';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { Logger } from '@rmm/service-kit';
import type { AgentCommandPayloads, AgentCommandType } from './agent-command.entity.js';
import { AgentCommandsRepository, type CommandTarget, type WaitingCommand } from './agent-commands.repository.js';

/** A command as agents get it. */
export interface DeliveredCommand {
  id: string;
  type: AgentCommandType;
  payload: object;
}

/** Queues commands for agents and delivers each with one heartbeat. */
@Injectable()
export class AgentCommandsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly commands: AgentCommandsRepository,
    private readonly keyRing: KeyRing,
    private readonly logger: Logger,
  ) {}

  /** Queues a command for the next heartbeat of a device. @returns its id */
  async add<T extends AgentCommandType>(
    tx: TenantTransaction,
    target: CommandTarget,
    command: { type: T; payload: AgentCommandPayloads[T]; lifetimeSeconds: number },
  ): Promise<string> {
    const { type, payload, lifetimeSeconds } = command;
    const id = randomUUID();
    const payloadSealed = this.keyRing.seal(JSON.stringify(payload), contextOf(id));
    await this.commands.add(tx, target, { id, type, payloadSealed, lifetimeSeconds });
    return id;
  }

  /** Returns the commands that wait for the agent, oldest first; they are not returned again. */
  async takeWaiting(caller: AgentCaller): Promise<DeliveredCommand[]> {
    const waiting = await this.tenants.transaction(caller, (tx) => this.commands.takeWaiting(tx, caller.deviceId));
    return waiting.flatMap((command) => this.open(command));
  }

  /** Returns nothing for a command that no key opens, so that it does not hold up the others. */
  private open({ id, type, payloadSealed }: WaitingCommand): DeliveredCommand[] {
    try {
      return [{ id, type, payload: JSON.parse(this.keyRing.open(payloadSealed, contextOf(id))) as object }];
    } catch (err) {
      this.logger.error({ err, commandId: id }, 'command not opened; it is not delivered');
      return [];
    }
  }
}

const contextOf = (id: string): string => `agent_command.payload:${id}`;
