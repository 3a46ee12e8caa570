import { Inject, Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type AgentReleasesConfig, type ProvisioningConfig } from '../config.js';
import { agentFileName } from './agent-binary.js';

/** A binary in the folder of releases. */
export interface AgentFile {
  dir: string;
  name: string;
  /** SHA-256, 64 hex digits. */
  checksum: string;
}

/** A binary in the folder, or its address on the release server. */
export type AgentBinary = AgentFile | { url: string };

interface KnownChecksum {
  version: string;
  checksum: Promise<string>;
}

/** Finds the binaries of agents in the folder or at the address that the configuration names. */
@Injectable()
export class AgentReleasesService {
  private readonly releases: AgentReleasesConfig;
  /** By file name; there is one for each operating system and architecture. */
  private readonly checksums = new Map<string, KnownChecksum>();

  constructor(@Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'agentReleases'>) {
    this.releases = config.agentReleases;
  }

  /** @throws NotFoundError  for an unknown operating system or architecture, and when there is no binary for them */
  async find(os: string, arch: string): Promise<AgentBinary> {
    const name = agentFileName(os, arch);
    const { dir, url } = this.releases;
    if (name !== null && url !== null) return { url: `${url}/${name}` };
    if (name === null || dir === null) throw new NotFoundError('Agent binary');
    return { dir, name, checksum: await this.checksumOf(dir, name) };
  }

  /**
   * Returns the line of `sha256sum` for a binary, or the address of a file with it, which is next to the binary.
   * @throws NotFoundError
   */
  async findChecksum(os: string, arch: string): Promise<{ line: string } | { url: string }> {
    const binary = await this.find(os, arch);
    if ('url' in binary) return { url: `${binary.url}.sha256` };
    return { line: `${binary.checksum}  ${binary.name}\n` };
  }

  /** Reads a file once for each of its versions, however many requests ask for it. */
  private async checksumOf(dir: string, name: string): Promise<string> {
    const file = path.join(dir, name);
    const stat = await fs.promises.stat(file).catch(() => null);
    if (!stat?.isFile()) throw new NotFoundError('Agent binary');
    const version = `${stat.ino} ${stat.size} ${stat.mtimeMs}`;
    const known = this.checksums.get(name);
    if (known?.version === version) return known.checksum;
    const checksum = readChecksum(file);
    this.checksums.set(name, { version, checksum });
    checksum.catch(() => this.checksums.delete(name));
    return checksum;
  }
}

async function readChecksum(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(fs.createReadStream(file), hash);
  return hash.digest('hex');
}
