import { Inject, Injectable, StreamableFile } from '@nestjs/common';
import { Readable } from 'node:stream';
import type { AgentCaller, Caller } from '@rmm/access';
import { API_PREFIX } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { hashKey, mintOpaqueToken } from '@rmm/secrets';
import { AgentCommandsService } from '../agent-commands/agent-commands.service.js';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { DevicesService } from '../devices/devices.service.js';
import { DevPushFilesRepository } from './dev-push-files.repository.js';
import type { StoredBuild } from './dev-push-upload.service.js';
import { DevPushesRepository } from './dev-pushes.repository.js';
import type { DevPushFormDto } from './dto/dev-push-form.dto.js';
import type { DevPushDto } from './dto/dev-push.dto.js';

/** The command expires with the download. */
const COMMAND_SECONDS = 300;

/** A build and the checksum that its response states. */
export interface BuildDownload {
  checksum: string;
  file: StreamableFile;
}

/** Pushes builds to single agents: a command in the next heartbeat names a download, which works once. */
@Injectable()
export class DevPushesService {
  private readonly downloads: string;

  constructor(
    @Inject(PROVISIONING_CONFIG) { publicApiUrl }: Pick<ProvisioningConfig, 'publicApiUrl'>,
    private readonly tenants: TenantDatabase,
    private readonly devices: DevicesService,
    private readonly pushes: DevPushesRepository,
    private readonly files: DevPushFilesRepository,
    private readonly commands: AgentCommandsService,
    private readonly audit: AuditTrail,
  ) {
    this.downloads = `${publicApiUrl}${API_PREFIX}/dev/push/download`;
  }

  /** Offers a stored build to an agent. @throws NotFoundError  for an unknown or foreign agent; SiteAccessDenied */
  async push(caller: Caller, { id, bytes, checksum }: StoredBuild, dto: DevPushFormDto): Promise<DevPushDto> {
    const { agentId, component = 'agent', version = `dev-${checksum.slice(0, 12)}` } = dto;
    const { id: deviceId, orgId, partnerId, hostname } = await this.devices.getActiveByAgent(caller, agentId);
    const { key: downloadToken, keyHash: tokenHash } = mintOpaqueToken();
    const downloadUrl = `${this.downloads}/${downloadToken}`;
    const build = { checksum, version, component };
    const owner = { deviceId, orgId, partnerId };
    const commandId = await this.tenants.transaction(caller, async (tx) => {
      await this.pushes.create(tx, { id, ...owner, ...build, tokenHash, bytes: String(bytes) });
      const resource = { type: 'device', id: deviceId, name: hostname, orgId, partnerId };
      // In upper case, since 64 lower-case digits are redacted: enrollment keys look like that.
      const details = { ...build, checksum: checksum.toUpperCase(), bytes, agentId };
      await this.audit.record(tx, caller, 'dev.push', resource, details);
      const payload = { downloadUrl, ...build };
      return this.commands.add(tx, owner, { type: 'dev_push', payload, lifetimeSeconds: COMMAND_SECONDS });
    });
    return { commandId, downloadToken, ...build, agentId, deviceId, wsSent: false, downloadUrl };
  }

  /** Returns the build of a token to the agent it is for, once. @throws NotFoundError */
  async download(caller: AgentCaller, token: string): Promise<BuildDownload> {
    const { id, bytes, checksum } = await this.tenants.transaction(caller, (tx) =>
      this.pushes.claim(tx, caller.deviceId, hashKey(token)),
    );
    const file = new StreamableFile(Readable.from(this.readOnce(id), { highWaterMark: 1 }), { length: Number(bytes) });
    return { checksum, file };
  }

  /** Yields a file part by part and deletes it, also when the agent closes the connection. */
  private async *readOnce(id: string): AsyncGenerator<Buffer> {
    try {
      yield* this.files.read(id);
    } finally {
      await this.files.delete(id);
    }
  }
}
