import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, getSchemaPath } from '@nestjs/swagger';

/** Documents a 200 response whose body is one of several classes. */
export const ApiOkOneOf = (...types: Type[]): MethodDecorator =>
  applyDecorators(
    ApiExtraModels(...types),
    ApiOkResponse({ schema: { oneOf: types.map((type) => ({ $ref: getSchemaPath(type) })) } }),
  );
