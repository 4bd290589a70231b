-- The share of all that is shown whose item is not among the most popular, which are a fifth of the
-- catalogue or the share that the option `head` gives.
-- views: _exposure.sql
-- n of: shown
-- n: true
WITH ordered AS (
    SELECT slice, times, count(*) OVER (PARTITION BY slice) AS size,
           row_number() OVER (PARTITION BY slice ORDER BY popularity DESC, item) AS number
    FROM catalogue
)
SELECT slice,
       sum(CASE WHEN number > ceil(round(size * coalesce(getvariable('head'), 0.2), 9))
                THEN times ELSE 0 END)
       / nullif(sum(times), 0) AS value
FROM ordered
GROUP BY slice
