-- The mean outcome of the recommendations among the first k whose outcome is known.
-- views: _matches.sql
-- n of: shown
-- n: value IS NOT NULL
-- n each: probability
SELECT slice,
       sum(probability * value) / nullif(sum(probability) FILTER (value IS NOT NULL), 0) AS value
FROM shown
GROUP BY slice
