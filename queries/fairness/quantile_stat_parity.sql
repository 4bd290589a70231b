-- The difference between the groups' shares of predictions at or above the q-quantile of all predictions.
-- views: _groups.sql
-- views: _outcomes.sql
WITH marked AS (
    FROM cut_at(coalesce(getvariable('q'), 0.5))
),
shares AS (
    SELECT slice, share(kept, own) AS mine, share(kept, other) AS theirs
    FROM beside(marked)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM shares
GROUP BY slice
