-- The share of the items of the catalogue that are among the first k of at least one list:
-- HolisticAI's name for coverage.
-- views: _exposure.sql
-- n of: catalogue
-- n: true
SELECT slice, count(*) FILTER (times > 0) / count(*) AS value
FROM catalogue
GROUP BY slice
