-- Bound of the error of the difference between shares at or above the q-quantile: the largest share that a
-- group has in the bin of the quantile, if that bin has a width.
-- views: _groups.sql
-- views: _outcomes.sql
-- n of: (SELECT *, sum(weight) FILTER (pred IS NOT NULL) OVER (PARTITION BY slice, "group") AS mass FROM rows)
-- n: pred IS NOT NULL AND "group" IS NOT NULL AND mass > 0
-- compared: not
WITH marked AS (
    SELECT *, low = min(low) FILTER (kept) OVER (PARTITION BY slice)
              AND coalesce(low < list_max(bins), false) AS unsure
    FROM cut_at(coalesce(getvariable('q'), 0.5))
),
shares AS (
    SELECT slice, share(unsure, own) AS unsure
    FROM beside(marked)
    GROUP BY slice, "group"
)
SELECT slice, max(unsure) AS value
FROM shares
GROUP BY slice
