-- What a schedule is good for, so that the operator's doctor can say it without reading the zip; NULL until the builder has looked.
ALTER TABLE feed.schedule_archive
    -- The last day that a calendar names, such as 20261231; empty where none names any.
    ADD COLUMN last_service_date text,
    -- Its trips, and those of them that riders can report on.
    ADD COLUMN trips integer,
    ADD COLUMN rider_trips integer;
