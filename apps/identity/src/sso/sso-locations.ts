import { ValidationError } from '@rmm/service-kit';
import type { SsoCallbackCode } from './sso.errors.js';

const MAX_LENGTH = 512;
const PATH = /^\/(?![/\\])[\x21\x23-\x5b\x5d-\x7e]*$/;

/**
 * Returns a path within the web application, with its query; `/` when none is given.
 * @throws ValidationError for anything that a browser could read as another host
 */
export function readReturnTo(returnTo: string | undefined): string {
  if (returnTo === undefined || returnTo === '') return '/';
  const isPath = returnTo.length <= MAX_LENGTH && PATH.test(returnTo) && !returnTo.includes('#');
  if (!isPath || new URL(returnTo, 'https://app.invalid').origin !== 'https://app.invalid') {
    throw ValidationError.forField(
      'returnTo',
      `must be a path within the application of at most ${MAX_LENGTH} characters`,
    );
  }
  return returnTo;
}

/** Returns where the browser continues after a callback: the fragment is not sent to any server. */
export const returnLocation = (appUrl: string, returnTo: string, fragment: string): string =>
  `${appUrl}${returnTo}#${fragment}`;

export const errorLocation = (appUrl: string, code: SsoCallbackCode): string => `${appUrl}/login?error=${code}`;
