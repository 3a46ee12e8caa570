import { randomInt } from 'node:crypto';
import { Failure } from '../failure.mjs';

/** A caller of the public API. Each comes from an address of its own, as different people and machines do. */
export class Client {
  #address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;

  constructor(baseUrl, token = null) {
    Object.assign(this, { baseUrl, token });
  }

  as(token) {
    return new Client(this.baseUrl, token);
  }

  get = (path) => this.#send('GET', path);
  post = (path, body) => this.#send('POST', path, body);

  /** @throws {Failure} with the API's own words when it refuses */
  async #send(method, path, body) {
    const answer = await fetch(`${this.baseUrl}/api/v1${path}`, {
      method,
      headers: {
        'x-forwarded-for': this.#address,
        'content-type': 'application/json',
        ...(this.token && { authorization: `Bearer ${this.token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const parsed = await answer.json();
    if (!answer.ok)
      throw new Failure(`${method} ${path} was refused with ${answer.status} ${parsed.code}: ${parsed.error}`);
    return parsed;
  }
}
