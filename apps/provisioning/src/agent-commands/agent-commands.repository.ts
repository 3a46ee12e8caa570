import { Injectable } from '@nestjs/common';
import { TenantDatabase, TenantRepository, WorkerDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { AgentCommand } from './agent-command.entity.js';

/** The device that a command is for. */
export interface CommandTarget {
  deviceId: string;
  orgId: string;
  partnerId: string;
}

export type NewAgentCommand = Pick<AgentCommand, 'id' | 'type' | 'payloadSealed'> & { lifetimeSeconds: number };
export type WaitingCommand = Pick<AgentCommand, 'id' | 'type' | 'payloadSealed'>;

/** In this order: a command that is added meanwhile waits for the row of the state, and marks it again. */
const CLEAR_MARK = `UPDATE device_state SET has_commands = false WHERE device_id = :deviceId`;

const TAKE = `
  WITH taken AS (
    UPDATE agent_command SET delivered_at = now()
     WHERE device_id = :deviceId AND delivered_at IS NULL AND expires_at > now()
    RETURNING id, type, payload_sealed, created_at)
  SELECT id, type, payload_sealed AS "payloadSealed" FROM taken ORDER BY created_at, id`;

/** Commands of devices. Hand-written SQL delivers a set of them in one statement. */
@Injectable()
export class AgentCommandsRepository extends TenantRepository<AgentCommand> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {
    super(tenants, AgentCommand, () => new NotFoundError('Command'), { ownership: 'organization' });
  }

  /** Adds a command and marks the state of its device, which the next heartbeat reads. */
  async add(tx: TenantTransaction, target: CommandTarget, command: NewAgentCommand): Promise<void> {
    const { deviceId, orgId, partnerId } = target;
    const { lifetimeSeconds, ...values } = command;
    const expiresAt = () => `now() + make_interval(secs => ${Math.trunc(lifetimeSeconds)})`;
    await this.insert(tx, { deviceId, orgId, partnerId, ...values, expiresAt });
    await tx.query('UPDATE device_state SET has_commands = true WHERE device_id = :deviceId', { deviceId });
  }

  /** Marks the waiting commands of a device as delivered and returns them, oldest first. Of two parallel calls one has them. */
  async takeWaiting(tx: TenantTransaction, deviceId: string): Promise<WaitingCommand[]> {
    await tx.query(CLEAR_MARK, { deviceId });
    return tx.query<WaitingCommand>(TAKE, { deviceId });
  }

  /** Deletes commands some hours after they ended. Uses the worker login: there is no caller. @returns their number */
  async purge(hours: number, limit: number): Promise<number> {
    const rows = await this.worker.query(
      `DELETE FROM agent_command WHERE id IN (
         SELECT id FROM agent_command WHERE expires_at < now() - make_interval(hours => :hours::integer)
          ORDER BY expires_at LIMIT :limit)
       RETURNING 1 AS one`,
      { hours, limit },
    );
    return rows.length;
  }
}
