export { Deprecated, type Deprecation } from './deprecated.decorator.js';
export { DoneDto } from './done.dto.js';
export { DescribeEntityTags } from './entity-tags.decorator.js';
export { addErrorCodes, ErrorCodes, type ErrorCodesByStatus } from './error-codes.decorator.js';
export * from './openapi-documents.service.js';
export { addResponseHeader, type HeaderName } from './response-headers.js';
export { readExamples, type OperationExample, type OperationExamples } from './operation-examples.js';
