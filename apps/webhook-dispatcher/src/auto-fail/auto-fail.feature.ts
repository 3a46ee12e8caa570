import type { Provider } from '@nestjs/common';
import { AutoFail } from './auto-fail.js';
import { AutoFailRepository } from './auto-fail.repository.js';

export const AUTO_FAIL: Provider[] = [AutoFail, AutoFailRepository];
