import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { UnreadableBody } from '../http/unreadable-body.js';
import { readDto } from './read-dto.js';

const PRIMITIVES = new Set<unknown>([String, Number, Boolean, Array, Object, Date, Buffer, undefined]);

/** Global: bodies and queries become the DTO class their parameter names, or 400 `validation_failed`. */
@Injectable()
export class DtoValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    if (type === 'body') {
      if (value instanceof UnreadableBody) throw value.reason;
      if (data === undefined && isDto(metatype)) return readDto(metatype, value ?? {}, 'body');
    } else if (type === 'query' && data === undefined && isDto(metatype)) {
      return readDto(metatype, value ?? {}, 'query');
    }
    return value;
  }
}

function isDto(metatype: ArgumentMetadata['metatype']): metatype is Type<object> {
  return !PRIMITIVES.has(metatype);
}
