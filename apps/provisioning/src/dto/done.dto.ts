export { DoneDto } from '@rmm/service-kit';
