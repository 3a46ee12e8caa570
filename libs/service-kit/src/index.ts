export * from './config/cidr.js';
export * from './config/config-error.js';
export * from './config/config-reader.js';
export * from './config/fleet-config.js';
export { readOutboundExtraAllowedCidrs } from './config/fleet-rules.js';
export * from './config/read-config.js';
export * from './context/request-context.js';
export * from './context/request-deadline.js';
export * from './errors/domain-error.js';
export * from './errors/errors.js';
export * from './errors/start-refusal.js';
export * from './errors/serialize-error.js';
export * from './health/health-registry.js';
export { Job, type JobOptions } from './jobs/job.decorator.js';
export * from './limits/client-bucket.js';
export * from './limits/concurrency-limits.service.js';
export type { RateLimitKey, RateLimitWindow } from './limits/rate-limit.js';
export * from './limits/rate-limit.decorator.js';
export * from './limits/rate-limits.service.js';
export { readRateLimits } from './limits/read-rate-limits.js';
export * from './logging/logger.js';
export * from './logging/redaction.js';
export * from './metrics/metrics-registry.js';
export * from './openapi/openapi-documents.service.js';
export type { OperationExample, OperationExamples } from './openapi/operation-examples.js';
export * from './redis/redis-connections.js';
export * from './service-kit.module.js';
export * from './time/clock.js';
export * from './tokens.js';
export { field, fieldOf, type FieldOptions, type FieldRule } from './dto/field.decorator.js';
export * from './dto/list-fields.decorator.js';
export * from './dto/page.dto.js';
export { isStorableText } from './dto/storable.js';
export * from './dto/text-fields.decorator.js';
export {
  IsFlag,
  IsInteger,
  IsIsoDateTime,
  IsOpenObject,
  IsUuid,
  parseIsoDateTime,
} from './dto/value-fields.decorator.js';
export { OpenDocument, type DtoSource } from './validation/create-dto.js';
export { DtoValidationPipe, readDto } from './validation/dto-validation.pipe.js';
export * from './validation/parse-uuid.pipe.js';
export { configureApp, type AppOptions } from './bootstrap/configure-app.js';
export { startService, type StartOptions } from './bootstrap/start-service.js';
export * from './bootstrap/bootstrap.js';
export { toErrorBody, writeError } from './errors/error-body.js';
export { ErrorFilter } from './errors/error.filter.js';
export { toDomainError } from './errors/to-domain-error.js';
export type { BodyRule } from './http/body.middleware.js';
export { FormFile, TakesFormFile } from './http/form-file.js';
export type { AuthenticatedRequest, KitRequest, KitResponse, RequestCaller } from './http/kit-request.js';
export { API_PREFIX } from './http/path-rules.js';
export type { ErrorBodyRule, PipelineOptions, TimeoutRule } from './http/request-pipeline.js';
export { SLUG_PATTERN, toSlug, uniqueSlug, type SlugOptions } from './text/slug.js';
export { isTimeZone } from './text/time-zone.js';
