import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AllowScopes, SignedIn } from '@rmm/access';
import { QueuesDto } from './dto/queues.dto.js';
import { QueuesService } from './queues.service.js';

/** Matched before `/webhooks/:id`. */
@ApiTags('Webhooks')
@Controller('webhooks/queues')
export class QueuesController {
  constructor(private readonly queues: QueuesService) {}

  @Get()
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'What waits in queues, table and processes, for operators of the platform' })
  @ApiOkResponse({ type: QueuesDto })
  get(): Promise<QueuesDto> {
    return this.queues.get();
  }
}
