import { Inject, Injectable } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { AccessRequest, Caller } from '@rmm/access';
import { ValidationError, type KitRequest } from '@rmm/service-kit';
import { isUuid, readForm } from '@rmm/validation';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { DevicesService } from '../devices/devices.service.js';
import { storeInParts } from '../uploads/store-in-parts.js';
import { DevPushFilesRepository } from './dev-push-files.repository.js';
import { DevPushDisabled, DevPushStorageFull } from './dev-push.errors.js';
import { hasFormParts, MAX_BUILD_BYTES } from './dto/dev-push-form.dto.js';

/** A file that is stored, without a push so far. */
export interface StoredBuild {
  id: string;
  bytes: number;
  /** SHA-256, 64 hex digits. */
  checksum: string;
}

/** A file counts at least this much, so that the limit of space also limits how many files there are. */
const MIN_RESERVED_BYTES = 1024 * 1024;
const LIMITS = {
  files: 1,
  fields: 10,
  parts: 11,
  fileSize: MAX_BUILD_BYTES,
  fieldSize: 1_024,
  fieldNameSize: 100,
  headerPairs: 20,
};

/** The request as `readForm` leaves it. */
type UploadRequest = AccessRequest & KitRequest & { file?: StoredBuild; body?: Record<string, unknown> };

/** Receives the form of a push and stores its build. */
@Injectable()
export class DevPushUploadService {
  private readonly isEnabled: boolean;
  private readonly maxStoredBytes: number;

  constructor(
    @Inject(PROVISIONING_CONFIG) { devPush }: Pick<ProvisioningConfig, 'devPush'>,
    private readonly files: DevPushFilesRepository,
    private readonly devices: DevicesService,
  ) {
    this.isEnabled = devPush.enabled;
    this.maxStoredBytes = devPush.maxStoredBytes;
  }

  /**
   * Reads the form; its other fields are in the body afterwards.
   * @throws DevPushDisabled, ValidationError, PayloadTooLargeError, DevPushStorageFull; NotFoundError, SiteAccessDenied
   *   for an agent that is named before the file
   */
  async receive(request: UploadRequest, response: object): Promise<StoredBuild> {
    const { caller } = request;
    if (!caller) throw new Error('uploads need a caller');
    if (!this.isEnabled) throw new DevPushDisabled();
    if (!hasFormParts(request)) throw missing('agentId', 'binary');
    const id = randomUUID();
    try {
      await readForm(request, response, {
        field: 'binary',
        limits: LIMITS,
        rule: 'must be one file of a well-formed form with the fields agentId, version and component',
        store: ({ stream }) => this.store(id, caller, request, stream),
      });
      const { file, body } = request;
      if (!file?.bytes) throw body?.['agentId'] === undefined ? missing('agentId', 'binary') : missing('binary');
      return file;
    } catch (error) {
      await this.discard({ id });
      throw error;
    }
  }

  /** Deletes a file that no push names. */
  discard({ id }: Pick<StoredBuild, 'id'>): Promise<void> {
    return this.files.delete(id);
  }

  private async store(id: string, caller: Caller, request: UploadRequest, stream: Readable): Promise<StoredBuild> {
    const agentId = request.body?.['agentId'];
    if (isUuid(agentId)) await this.devices.getActiveByAgent(caller, agentId);
    if (!(await this.files.reserve(id, reservedBytes(request), this.maxStoredBytes))) throw new DevPushStorageFull();
    const hash = createHash('sha256');
    const bytes = await storeInParts(stream, (part, content) => {
      hash.update(content);
      return this.files.insertPart(id, part, content);
    });
    return { id, bytes, checksum: hash.digest('hex') };
  }
}

/** Returns the largest size that the file may get, by the length of the request. */
function reservedBytes({ headers }: UploadRequest): number {
  const length = Number(headers['content-length'] ?? MAX_BUILD_BYTES);
  return Math.min(Math.max(length, MIN_RESERVED_BYTES), MAX_BUILD_BYTES);
}

const missing = (...fields: string[]): ValidationError =>
  new ValidationError(undefined, { fieldErrors: Object.fromEntries(fields.map((name) => [name, ['is required']])) });
