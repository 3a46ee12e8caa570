export { addErrorCodes, ErrorCodes, type ErrorCodesByStatus } from './error-codes.decorator.js';
export * from './openapi-documents.service.js';
export type { OperationExample, OperationExamples } from './operation-examples.js';
