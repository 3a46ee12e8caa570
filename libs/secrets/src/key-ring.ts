import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1';
const KID = /^[A-Za-z0-9_-]{1,64}$/;

/** What was sealed cannot be opened: changed bytes, another context, or a key that is no longer in the ring. */
export class UnsealFailed extends Error {
  override readonly name = 'UnsealFailed';
}

export interface KeyRingKeys {
  /** 32 bytes per key id. */
  keys: Readonly<Record<string, Buffer>>;
  /** The key that seals from now on; the others only open. */
  activeKid: string;
}

/**
 * Seals small secrets for storage with AES-256-GCM.
 * The key id travels in the text, so that a new active key needs no downtime: old rows still open, new ones use it.
 * @see ARCHITECTURE.md, section 4, rule 5
 */
export class KeyRing {
  readonly activeKid: string;
  readonly #keys: ReadonlyMap<string, Buffer>;

  /** @throws Error  when a key id or key has the wrong form, or the active one is not in the ring */
  constructor({ keys, activeKid }: KeyRingKeys) {
    for (const [kid, key] of Object.entries(keys)) {
      if (!KID.test(kid)) throw new Error(`key id "${kid}" must be 1 to 64 letters, digits, "_" or "-"`);
      if (key.length !== KEY_BYTES) throw new Error(`key "${kid}" must be ${KEY_BYTES} bytes, got ${key.length}`);
    }
    this.#keys = new Map(Object.entries(keys));
    if (!this.#keys.has(activeKid)) throw new Error(`the active key "${activeKid}" is not in the key ring`);
    this.activeKid = activeKid;
  }

  /** A ring from what `readSecretsConfig` returned. */
  static fromConfig(config: { keyRing: KeyRingKeys }): KeyRing {
    return new KeyRing(config.keyRing);
  }

  /**
   * @param context  names the place of the value (`webhook.secret:<id>`); the text opens only under the same context,
   *   so a sealed value copied to another row or column is refused
   * @returns `v1.<kid>.<base64url of iv, tag and ciphertext>`
   */
  seal(plain: string, context: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.activeKid), iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(associatedData(this.activeKid, context));
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    const body = Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    return `${VERSION}.${this.activeKid}.${body}`;
  }

  /** @throws UnsealFailed  never says which of its reasons it was, beyond an unknown key id */
  open(sealed: string, context: string): string {
    const { kid, body } = split(sealed);
    const decipher = createDecipheriv('aes-256-gcm', this.#key(kid), body.subarray(0, IV_BYTES), {
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

  /** False when another key than the active one sealed it, or it is no sealed text: time to seal it again. */
  isCurrent(sealed: string): boolean {
    return sealed.startsWith(`${VERSION}.${this.activeKid}.`);
  }

  #key(kid: string): Buffer {
    const key = this.#keys.get(kid);
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
  // Node decodes leniently: only the one canonical spelling counts, or a changed text could still open.
  if (body.length < IV_BYTES + TAG_BYTES || body.toString('base64url') !== text)
    throw new UnsealFailed('Not a sealed value');
  return { kid, body };
}

const associatedData = (kid: string, context: string) => Buffer.from(`${VERSION}.${kid}.${context}`, 'utf8');
