import { Injectable } from '@nestjs/common';
import { type Actor, type PartnerState, type PartnerStatus } from '@rmm/contracts';
import { Outbox, type OutboxTransaction } from '@rmm/messaging';
import type { PartnerType } from './partner.entity.js';
import { freeSlug, slugOf } from './partner-slug.js';

export interface NewPartner {
  name: string;
  slug?: string;
  type?: PartnerType;
  plan?: string;
  maxOrganizations?: number | null;
  maxDevices?: number | null;
  timezone?: string;
  signupIp?: string | null;
  /** Sign-up: provisioning is to make the first organization and site. */
  createFirstOrganization: boolean;
  actor: Actor;
}

export interface MadePartner {
  id: string;
  name: string;
  slug: string;
  status: PartnerStatus;
  /** The partner's own copy of Partner Admin. */
  adminRoleId: string;
}

const SLUG_TRIES = 5;
/** One number for one lock: two partners of one name never try for one slug at once. */
const SLUG_LOCK = 727_003;

/** Makes a partner with its own Partner Admin role, and says so. Runs under the worker login. */
@Injectable()
export class PartnerMaker {
  constructor(private readonly outbox: Outbox) {}

  async make(tx: OutboxTransaction, partner: NewPartner): Promise<MadePartner> {
    const row = await this.insert(tx, partner);
    const adminRoleId = await copyAdminRole(tx, row.id);
    const data: PartnerState = {
      partnerId: row.id,
      name: row.name,
      slug: row.slug,
      status: row.status,
      maxOrganizations: partner.maxOrganizations ?? null,
      maxDevices: partner.maxDevices ?? null,
      timezone: partner.timezone ?? 'UTC',
      settings: {},
      version: 1,
      createFirstOrganization: partner.createFirstOrganization,
    };
    await this.outbox.publish(tx, {
      stream: 'internal',
      type: 'partner.created',
      aggregateId: row.id,
      aggregateVersion: 1,
      partnerId: row.id,
      orgId: null,
      actor: partner.actor,
      data,
    });
    return { ...row, adminRoleId };
  }

  private async insert(tx: OutboxTransaction, partner: NewPartner): Promise<Omit<MadePartner, 'adminRoleId'>> {
    await tx.query('select pg_advisory_xact_lock($1)', [SLUG_LOCK]);
    const wanted = partner.slug ?? slugOf(partner.name);
    for (let attempt = 0; attempt < SLUG_TRIES; attempt += 1) {
      const taken = await tx.query<{ slug: string }>(
        `select slug from partner where slug = $1 or (slug like $1 || '-%' and substr(slug, length($1) + 2) ~ '^[0-9]+$')`,
        [wanted],
      );
      const slug = freeSlug(
        wanted,
        taken.map((row) => row.slug),
      );
      const [row] = await tx.query<Omit<MadePartner, 'adminRoleId'>>(
        `insert into partner (name, slug, type, plan, status, max_organizations, max_devices, timezone, signup_ip)
         values ($1, $2, coalesce($3, 'msp'), coalesce($4, 'standard'), 'active', $5, $6, coalesce($7, 'UTC'), $8)
         on conflict (slug) do nothing
         returning id, name, slug, status`,
        [
          partner.name,
          slug,
          partner.type ?? null,
          partner.plan ?? null,
          partner.maxOrganizations ?? null,
          partner.maxDevices ?? null,
          partner.timezone ?? null,
          partner.signupIp ?? null,
        ],
      );
      if (row) return row;
    }
    throw new Error('No free slug for the partner was found');
  }
}

/** The seeded role is the model; the copy belongs to the partner and is a system role too. */
async function copyAdminRole(tx: OutboxTransaction, partnerId: string): Promise<string> {
  const [role] = await tx.query<{ id: string }>(
    `with model as (select * from role where partner_id is null and system_key = 'partner_admin'),
     made as (
       insert into role (partner_id, scope, name, description, is_system, force_mfa, system_key)
       select $1, scope, name, description, true, force_mfa, system_key from model returning id
     ),
     granted as (
       insert into role_permission (role_id, permission_id)
       select made.id, rp.permission_id from made, model join role_permission rp on rp.role_id = model.id
     )
     select id from made`,
    [partnerId],
  );
  if (!role) throw new Error('The seeded Partner Admin role is missing');
  return role.id;
}
