import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { UnsealFailed } from './key-ring.errors.js';

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1';
const KID = /^[A-Za-z0-9_-]{1,64}$/;

export interface KeyRingKeys {
  /** 32 bytes per key id. */
  keys: Readonly<Record<string, Buffer>>;
  /** Id of the key that seals; the other keys only open. */
  activeKid: string;
}

/**
 * Seals small secrets for storage with AES-256-GCM. The sealed text contains the key id, so that the active key can be
 * replaced without downtime: older rows still open with their own key.
 */
export class KeyRing {
  readonly activeKid: string;
  private readonly keys: ReadonlyMap<string, Buffer>;

  /** @throws Error  when a key id or key has the wrong form, or the active one is not in the ring */
  constructor({ keys, activeKid }: KeyRingKeys) {
    for (const [kid, key] of Object.entries(keys)) {
      if (!KID.test(kid)) throw new Error(`key id "${kid}" must be 1 to 64 letters, digits, "_" or "-"`);
      if (key.length !== KEY_BYTES) throw new Error(`key "${kid}" must be ${KEY_BYTES} bytes, got ${key.length}`);
    }
    this.keys = new Map(Object.entries(keys));
    if (!this.keys.has(activeKid)) throw new Error(`the active key "${activeKid}" is not in the key ring`);
    this.activeKid = activeKid;
  }

  /** Creates the ring from the result of `readSecretsConfig`. */
  static fromConfig(config: { keyRing: KeyRingKeys }): KeyRing {
    return new KeyRing(config.keyRing);
  }

  /**
   * Seals a text.
   * @param context  name of the value's place (`webhook.secret:<id>`); the text opens only with the same context, so that
   *   a sealed value copied to another row or column is rejected
   * @returns `v1.<kid>.<base64url of iv, tag and ciphertext>`
   */
  seal(plain: string, context: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.findKey(this.activeKid), iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(associatedData(this.activeKid, context));
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    const body = Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    return `${VERSION}.${this.activeKid}.${body}`;
  }

  /** Opens a sealed text. @throws UnsealFailed  without the exact reason, except for an unknown key id */
  open(sealed: string, context: string): string {
    const { kid, body } = split(sealed);
    const decipher = createDecipheriv('aes-256-gcm', this.findKey(kid), body.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(associatedData(kid, context));
    decipher.setAuthTag(body.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    try {
      return decipher.update(body.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    } catch (cause) {
      throw new UnsealFailed('The sealed value was changed or belongs elsewhere', { cause });
    }
  }

  /** Returns false when the text was sealed by another key or is not sealed; it should be sealed again. */
  isCurrent(sealed: string): boolean {
    return sealed.startsWith(`${VERSION}.${this.activeKid}.`);
  }

  private findKey(kid: string): Buffer {
    const key = this.keys.get(kid);
    if (!key) throw new UnsealFailed(`No key "${kid}" in the key ring`);
    return key;
  }
}

function split(sealed: string): { kid: string; body: Buffer } {
  const parts = sealed.split('.');
  const [version, kid, text] = parts;
  if (parts.length !== 3 || version !== VERSION || !kid || !text || !KID.test(kid)) {
    throw new UnsealFailed('Not a sealed value');
  }
  const body = Buffer.from(text, 'base64url');
  // Node decodes leniently; only the canonical encoding is accepted, or a changed text could still open.
  if (body.length < IV_BYTES + TAG_BYTES || body.toString('base64url') !== text)
    throw new UnsealFailed('Not a sealed value');
  return { kid, body };
}

const associatedData = (kid: string, context: string) => Buffer.from(`${VERSION}.${kid}.${context}`, 'utf8');
