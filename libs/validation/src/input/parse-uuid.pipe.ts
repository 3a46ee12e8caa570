import { Injectable, Param, type PipeTransform } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { NotFoundError } from '@rmm/errors';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (value: unknown): value is string => typeof value === 'string' && UUID.test(value);

/** Reads an id of a path: a malformed one is 404 `<Resource> not found`. Upper case is lowered. */
@Injectable()
export class ParseUuidOr404Pipe implements PipeTransform<unknown, string> {
  constructor(private readonly resource: string) {}

  transform(value: unknown): string {
    if (!isUuid(value)) throw new NotFoundError(this.resource);
    return value.toLowerCase();
  }
}

/** Lowers the first letter, except that of an abbreviation. */
const inSentence = (noun: string): string => noun.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase());

/** Injects a path parameter that is an id, with its OpenAPI schema: `@UuidParam('id', 'Webhook') id: string`. */
export function UuidParam(name: string, resource: string): ParameterDecorator {
  return (target, key, index) => {
    Param(name, new ParseUuidOr404Pipe(resource))(target, key, index);
    const descriptor = key === undefined ? undefined : Object.getOwnPropertyDescriptor(target, key);
    if (key !== undefined && descriptor)
      ApiParam({
        name,
        description: `Id of the ${inSentence(resource)}`,
        format: 'uuid',
        schema: { type: 'string', format: 'uuid' },
      })(target, key, descriptor);
  };
}
