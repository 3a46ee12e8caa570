import { Body, Controller, Delete, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type Caller } from '@rmm/access';
import { DoneDto, EntityTagged, ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { sortedPageOf, type SortedPage } from '../lists/dto/sorted-page.dto.js';
import { ContactsService } from './contacts.service.js';
import { ContactDto, ContactResponseDto } from './dto/contact.dto.js';
import { CreateContactDto } from './dto/create-contact.dto.js';
import { ListContactsDto } from './dto/list-contacts.dto.js';
import { UpdateContactDto } from './dto/update-contact.dto.js';

const ContactTags = () => EntityTagged();

@ApiTags('Contacts')
@Controller('orgs')
export class ContactsController {
  constructor(private readonly contacts: ContactsService) {}

  @Get('organizations/:id/contacts')
  @RequirePermission('organizations:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({ summary: 'List the contacts of an organization', description: 'Newest first by default.' })
  @ApiOkResponse({ type: sortedPageOf(ContactDto) })
  list(
    @CurrentCaller() caller: Caller,
    @UuidParam('id', 'Organization') orgId: string,
    @Query() query: ListContactsDto,
  ): Promise<SortedPage<ContactDto>> {
    return this.contacts.list(caller, orgId, query);
  }

  @Post('organizations/:id/contacts')
  @RequirePermission('organizations:write')
  @ContactTags()
  @RequireMfa()
  @ErrorCodes({ 409: ['contact_limit_reached'] })
  @ApiOperation({ summary: 'Create a contact', description: 'With a name, an e-mail address or a number.' })
  @ApiCreatedResponse({ type: ContactResponseDto })
  create(
    @CurrentCaller() caller: Caller,
    @UuidParam('id', 'Organization') orgId: string,
    @Body() dto: CreateContactDto,
  ): Promise<ContactResponseDto> {
    return this.contacts.create(caller, orgId, dto);
  }

  @Patch('contacts/:contactId')
  @RequirePermission('organizations:write')
  @ContactTags()
  @RequireMfa()
  @ApiOperation({ summary: 'Update a contact', description: 'Absent fields stay as they are; null clears them.' })
  @ApiOkResponse({ type: ContactResponseDto })
  update(
    @CurrentCaller() caller: Caller,
    @UuidParam('contactId', 'Contact') id: string,
    @Body() dto: UpdateContactDto,
  ): Promise<ContactResponseDto> {
    return this.contacts.update(caller, id, dto);
  }

  @Delete('contacts/:contactId')
  @RequirePermission('organizations:write')
  @ContactTags()
  @RequireMfa()
  @ApiOperation({ summary: 'Delete a contact' })
  @ApiOkResponse({ type: DoneDto })
  delete(@CurrentCaller() caller: Caller, @UuidParam('contactId', 'Contact') id: string): Promise<DoneDto> {
    return this.contacts.delete(caller, id);
  }
}
