-- Two queries, and between them a VACUUM, which copies the whole file.
create table word as
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
    select i, hex(randomblob(30)) as text from n;
create index by_text on word(text);
select count(*) > 0 from word where text like '%00%';
vacuum;
select count(*) > 0 from word where text like '%11%';
