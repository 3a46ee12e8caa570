import { Injectable } from '@nestjs/common';
import {
  AccessSnapshots,
  hasFullPartnerAccess,
  PartnerDirectory,
  PermissionDenied,
  type Caller,
  type UserCaller,
} from '@rmm/access';
import { hasPermission, type Permission } from '@rmm/permissions';
import type { ActingUserSession, ImportKind, ImportRun } from './import-run.entity.js';
import { FullPartnerAccessRequired, ImportRunFailed } from './import-run.errors.js';

const PERMISSIONS: Record<ImportKind, [Permission, ...Permission[]]> = {
  organizations: ['organizations:write', 'sites:write'],
  contacts: ['organizations:write'],
};

/** Returns the session in which a run works for a user. */
export function toActingSession(caller: Caller): ActingUserSession {
  if (caller.kind !== 'user') throw new PermissionDenied(['organizations:write']);
  const { userId, sessionId, scope, partnerId, orgId, mfa } = caller;
  return { userId, sessionId, scope: scope as ActingUserSession['scope'], partnerId, orgId, mfa };
}

/**
 * Checks what the routes of the JSON imports declare, which depends on the kind of the run here.
 * @throws PermissionDenied, ForbiddenError
 */
export function assertMayImport(caller: Caller, kind: ImportKind): void {
  if (caller.kind !== 'user') throw new PermissionDenied(PERMISSIONS[kind]);
  const [first, ...others] = PERMISSIONS[kind].filter((each) => !hasPermission(caller.permissions, each));
  if (first) throw new PermissionDenied([first, ...others]);
  if (kind === 'organizations' && !hasFullPartnerAccess(caller)) throw new FullPartnerAccessRequired();
}

/** Checks before each chunk of a run that its user may still import. */
@Injectable()
export class ActingUserService {
  constructor(
    private readonly snapshots: AccessSnapshots,
    private readonly partners: PartnerDirectory,
  ) {}

  /**
   * Returns the user of a run with the current access.
   * @throws ImportRunFailed  when its session, membership or permission has ended, or its partner is not active
   */
  async revalidate({ acting, kind, partnerId }: ImportRun): Promise<UserCaller> {
    const revoked = new ImportRunFailed('access_revoked', 'The user who started the import has no access any more');
    const caller = acting && (await this.snapshots.findCaller(acting));
    if (!caller || (await this.partners.find(partnerId))?.status !== 'active') throw revoked;
    try {
      assertMayImport(caller, kind);
    } catch {
      throw revoked;
    }
    return caller;
  }
}
