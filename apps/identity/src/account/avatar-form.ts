import type { BodyRule, TimeoutRule } from '@rmm/service-kit';

const PATH = '/users/me/avatar';

export const MAX_AVATAR_BYTES = 5 * 1024 * 1024;

/** The picture and 64 KB of form around it. @see CONTRACT.md 1.7 */
export const AVATAR_BODY: BodyRule = {
  path: PATH,
  limitBytes: MAX_AVATAR_BYTES + 64 * 1024,
  contentTypes: ['multipart/form-data'],
  read: 'stream',
};

/** The form is read inside the route, so a slow line counts. */
export const AVATAR_TIMEOUT: TimeoutRule = { path: PATH, timeoutMs: 60_000 };
