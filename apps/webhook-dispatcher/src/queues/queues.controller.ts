import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AllowScopes, SignedIn } from '@rmm/access';
import { QueuesDto } from './dto/queues.dto.js';
import { QueuesService } from './queues.service.js';

/** Registered before `/webhooks/:id`. */
@ApiTags('Webhooks')
@Controller('webhooks/queues')
export class QueuesController {
  constructor(private readonly queues: QueuesService) {}

  @Get()
  @SignedIn()
  @AllowScopes('system')
  @ApiOperation({ summary: 'Get the state of queues, open deliveries and replicas' })
  @ApiOkResponse({ type: QueuesDto })
  get(): Promise<QueuesDto> {
    return this.queues.get();
  }
}
