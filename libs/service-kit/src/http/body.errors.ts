import { BadRequestError } from '@rmm/errors';

export class MalformedJson extends BadRequestError {
  override code = 'malformed_json';
  override error = 'Malformed JSON';
}
